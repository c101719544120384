def run(X, N):
    return 2 * X
