class ASTSource:
    def __init__(self, fn, signature, constexprs, attrs):
        self.fn, self.signature = fn, signature
        self.constexprs, self.attrs = constexprs, attrs
