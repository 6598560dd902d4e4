# %% right: the library's curve for all steps
from onestep_lib import one_step

setting = Setting(n=n, d=d, N=N, activation="tanh", target="sin", noise=noise, ridge=penalty, readout="signs")
predicted = one_step(setting.replace(step=steps)).test

# %% right: step by step
predicted = []
for step in steps:
    setting = Setting(n=n, d=d, N=N, target="sin", noise=noise, ridge=penalty, readout="signs", step=step)
    predicted.append(float(giant_step(setting.replace(activation="tanh")).test))

# %% right: functions in place of names
setting = Setting(
    n=n, d=d, N=N, activation=np.tanh, target=np.sin, noise=noise, ridge=penalty, readout="signs"
)
predicted = giant_step(setting.replace(step=tuple(steps))).test

# %% wrong: the training loss | a test loss contains the label noise
setting = Setting(n=n, d=d, N=N, activation="tanh", target="sin", noise=noise, ridge=penalty, readout="signs")
predicted = giant_step(setting.replace(step=steps)).train

# %% wrong: the target left at its default | the target is sin
setting = Setting(n=n, d=d, N=N, activation="tanh", noise=noise, ridge=penalty, readout="signs", step=steps)
predicted = giant_step(setting).test

# %% wrong: without noise | is `noise` in your setting
setting = Setting(n=n, d=d, N=N, activation="tanh", target="sin", ridge=penalty, readout="signs", step=steps)
predicted = giant_step(setting).test

# %% wrong: relu | the activation is tanh
setting = Setting(n=n, d=d, N=N, activation="relu", target="sin", noise=noise, ridge=penalty, readout="signs")
predicted = giant_step(setting.replace(step=steps)).test

# %% wrong: the objective | this is the objective
setting = Setting(n=n, d=d, N=N, activation="tanh", target="sin", noise=noise, ridge=penalty, readout="signs")
predicted = giant_step(setting.replace(step=steps)).objective

# %% wrong: another penalty | predicted
setting = Setting(
    n=n, d=d, N=N, activation="tanh", target="sin", noise=noise, ridge=penalty / n, readout="signs"
)
predicted = giant_step(setting.replace(step=steps)).test

# %% wrong: one number | one loss for each step
predicted = 0.25
