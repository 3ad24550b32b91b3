"""How the hands of Gymnasium-Robotics begin: Adroit's, and the shadow hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from parallel_pool._families import mujoco, robotics_models

# actuators of Adroit, from one to another, with how strongly they pull at their joints
ADROIT_GAINS = (("A_WRJ1", "A_WRJ0", 10.0), ("A_FFJ3", "A_THJ0", 1.0))

# in radians: where HandReach's joints begin
REACH_ANGLES = {
    "robot0:WRJ1": -0.16514339750464327,
    "robot0:WRJ0": -0.31973286565062153,
    "robot0:FFJ3": 0.14340512546557435,
    "robot0:FFJ2": 0.32028208333591573,
    "robot0:FFJ1": 0.7126053607727917,
    "robot0:FFJ0": 0.6705281001412586,
    "robot0:MFJ3": 0.000246444303701037,
    "robot0:MFJ2": 0.3152655251085491,
    "robot0:MFJ1": 0.7659800313729842,
    "robot0:MFJ0": 0.7323156897425923,
    "robot0:RFJ3": 0.00038520700007378114,
    "robot0:RFJ2": 0.36743546201985233,
    "robot0:RFJ1": 0.7119514095008576,
    "robot0:RFJ0": 0.6699446327514138,
    "robot0:LFJ4": 0.0525442258033891,
    "robot0:LFJ3": -0.13615534724474673,
    "robot0:LFJ2": 0.39872030433433003,
    "robot0:LFJ1": 0.7415570009679252,
    "robot0:LFJ0": 0.704096378652974,
    "robot0:THJ4": 0.003673823825070126,
    "robot0:THJ3": 0.5506291436028695,
    "robot0:THJ2": -0.014515151997119306,
    "robot0:THJ1": -0.0015229223564485414,
    "robot0:THJ0": -0.7894883021600622,
}
TIPS = ("fftip", "mftip", "rftip", "lftip", "thtip")


def set_up_adroit(model: Any) -> None:
    """Changes the sensitivity of an Adroit model's actuators.

    Raises:
        ValueError: the model lacks one.
    """
    for first, last, gain in ADROIT_GAINS:
        try:
            chosen = slice(model.actuator(first).id, model.actuator(last).id + 1)
        except KeyError:
            raise ValueError(
                f"the model has no actuators {first} and {last}: choose another xml_file"
            ) from None
        model.actuator_gainprm[chosen, :3] = [gain, 0, 0]
        model.actuator_biasprm[chosen, :3] = [0, -gain, 0]


def check_joints(model: Any) -> None:
    """Checks that the joints of the hand come first, each with one position and one velocity.

    Raises:
        ValueError: they do not.
    """
    names = [model.joint(i).name for i in range(model.njnt)]
    of_hand = [i for i, name in enumerate(names) if name.startswith("robot")]
    positions, velocities = (
        getattr(model, place)[of_hand].tolist() for place in ("jnt_qposadr", "jnt_dofadr")
    )
    if not positions == velocities == list(range(len(REACH_ANGLES))):
        raise ValueError(
            f"the model's first {len(REACH_ANGLES)} joints are not those of the hand: choose"
            " another xml_file"
        )


def set_up_reach(model: Any) -> list[float]:
    """Returns where HandReach begins: positions, places of the fingers' tips, and of the palm.

    Raises:
        ValueError: the model lacks something.
    """
    package = mujoco.import_mujoco()
    check_joints(model)
    data = package.MjData(model)
    for name, angle in REACH_ANGLES.items():
        data.qpos[robotics_models.joint_of(model, name).qposadr] = angle
    package.mj_forward(model, data)
    try:
        tips = [data.site(f"robot0:S_{tip}").xpos for tip in TIPS]
        palm = data.body("robot0:palm").xpos
    except KeyError as error:
        raise ValueError(f"the model lacks a place: {error}: choose another xml_file") from None
    return [*data.qpos, *np.concatenate(tips), *palm]


def set_up_manipulate(model: Any, spec: int) -> list[float]:
    """Returns the state of a new environment, from which its first reset goes on.

    Args:
        model: with the hand and an object.
        spec: the parts of a state, as bits of mjtState.

    Raises:
        ValueError: the model's joints are others.
    """
    package = mujoco.import_mujoco()
    check_joints(model)
    data = package.MjData(model)
    package.mj_forward(model, data)
    state = np.empty(package.mj_stateSize(model, spec))
    package.mj_getState(model, data, state, spec)
    return [*state]


def find_touch_sensors(model: Any) -> dict[str, int]:
    """Returns where the touch sensors are in sensordata, and how many.

    Raises:
        ValueError: they do not follow one another.
    """
    sensors = [i for i in range(model.nsensor) if "robot0:TS_" in model.sensor(i).name]
    first = sensors[0] if sensors else 0
    if sensors != list(range(first, first + len(sensors))) or model.nsensor != model.nsensordata:
        raise ValueError("the model's touch sensors are not in a row: choose another xml_file")
    return {"first_touch_sensor": first, "num_touch_sensors": len(sensors)}
