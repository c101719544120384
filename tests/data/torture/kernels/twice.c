kernel k
copy 2 0
mul 1 2 2
time 1000
if V 1 time 900
if V 2 mul 1 0 3
if V 3 refuse
if V 4 time -300
if W 1 time -50
