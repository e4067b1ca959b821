"""A small NWB file with something of each kind that swirl reads, built by pynwb and its extensions."""

from datetime import UTC, datetime

import numpy as np

START = datetime(2026, 3, 1, 14, 30, tzinfo=UTC)
XYZ = np.arange(15.0).reshape(5, 3)
STAMPS = np.array([0.0, 0.1, 0.25, 0.3, 0.5])


def intervals(name, rows, cls=None, **attributes):
    """A table of (start, stop, label)."""
    from pynwb.epoch import TimeIntervals

    table = (cls or TimeIntervals)(name=name, description="bouts", **attributes)
    if "label" not in table.colnames:
        table.add_column("label", "what the animal did")
    for start, stop, label in rows:
        table.add_row(start_time=float(start), stop_time=float(stop), label=label)
    return table


TABLES = {
    # Rows out of order; two touching bouts of one label; a pause of 0.5 s and one of 5 s, where the median bout is 1 s.
    "behaviour": [
        (1, 2, "walk"), (0, 1, "rest"), (2, 3, "walk"), (3.5, 4.5, "rest"), (9.5, 10.5, "walk"), (10.5, 12, "rest"),
    ],
    "unlabelled": [(0, 1, "a"), (1, 2, ""), (2, 3, "a"), (3, 4, "b")],
    "overlapping": [(0, 2, "a"), (3, 9, "b"), (5, 6, "a"), (8, 9.5, "c")],
    "backwards": [(0, 1, "a"), (2, 1.5, "b"), (np.nan, 4, "c")],
    "blank": [(0, 1, ""), (1, 2, "")],
}  # fmt: skip


def add_behaviour(file):
    import ndx_ethogram
    import ndx_pose
    from pynwb.behavior import BehavioralEpochs, CompassDirection, Position
    from pynwb.epoch import TimeIntervals

    module = file.create_processing_module("behavior", "behaviour")
    position = Position(name="Position")
    steady, corner = {"rate": 10.0, "reference_frame": "corner"}, {"reference_frame": "corner"}
    position.create_spatial_series("left", data=XYZ[:, :2], starting_time=2.0, conversion=0.01, offset=5.0, **steady)
    right = position.create_spatial_series("right", data=XYZ, timestamps=STAMPS, **corner)
    position.create_spatial_series("linked", data=XYZ[:, :2], timestamps=right, **corner)
    position.create_spatial_series("line", data=XYZ[:, 0], **steady)
    module.add(position)
    compass = CompassDirection(name="Compass")
    compass.create_spatial_series("angle", data=XYZ[:, 0], rate=10.0, reference_frame="north", unit="radians")
    module.add(compass)

    skeleton = ndx_pose.Skeleton(name="mouse", nodes=["nose", "tail"])
    module.add(ndx_pose.Skeletons(skeletons=[skeleton]))
    parts = [
        ndx_pose.PoseEstimationSeries(name=name, data=XYZ[:, :2] + shift, confidence=np.array(sure), **steady)
        for name, shift, sure in (("nose", 0.0, [1, 1, 1, 0.1, 0.1]), ("tail", 10.0, [1, 1, 0.1, 1, 0.1]))
    ]
    module.add(ndx_pose.PoseEstimation(name="Pose", pose_estimation_series=parts, skeleton=skeleton))

    ethogram = ndx_ethogram.Ethogram(name="Ethogram", description="all", exclusive=True)
    for name in ("sleep", "rear", "groom"):
        ethogram.add_row(behavior=name, definition="…")
    observed = TimeIntervals(name="observed", description="assessed")
    for start in (0.0, 2.0):
        observed.add_row(start_time=start, stop_time=start + 2)
    bouts = intervals(
        "Bouts", [(0, 1, "groom"), (1, 2, "rear"), (2, 3, "rear"), (3, 4, "groom")], ndx_ethogram.EthogramBouts,
        labeling_method="manual", ethogram=ethogram, observation_intervals=observed,
    )  # fmt: skip
    for thing in (ethogram, observed, bouts):
        module.add(thing)

    epochs = BehavioralEpochs(name="Epochs")
    epochs.create_interval_series("run", data=[1, -1, 1, -1], timestamps=[0.0, 1.0, 2.0, 3.0])
    epochs.create_interval_series("rest", data=[1, -1], timestamps=[1.0, 2.0])
    module.add(epochs)


def add_events(file):
    from pynwb.event import EventsTable

    licks = EventsTable(name="licks", description="instants")
    for time, what in ((0.5, "lick"), (0.9, "lick"), (7.0, "reward"), (7.5, "lick")):
        licks.add_event(timestamp=time, annotation=what)
    lasting = EventsTable(name="lasting", description="with durations")
    for time, duration, what in ((0.0, 1.0, "walk"), (1.0, 1.0, "rest"), (2.0, 2.0, "walk")):
        lasting.add_event(timestamp=time, duration=duration, annotation=what)
    frames = EventsTable(name="frames", description="a label per frame")
    for i, what in enumerate("aabbb.aaaacc"):
        if what != ".":
            frames.add_event(timestamp=i / 10, annotation=what)
    for table in (licks, lasting, frames):
        file.add_events_table(table)


def day():
    """One file in memory with something of each kind."""
    import ndx_ethogram  # noqa: F401
    from pynwb import NWBFile
    from pynwb.file import Subject

    file = NWBFile("a day", "3f2a", START, session_id="day 2", subject=Subject(subject_id="m1"))
    add_behaviour(file)
    add_events(file)
    for name, rows in TABLES.items():
        file.add_time_intervals(intervals(name, rows))
    file.add_trial_column("choice", "left is 0")
    file.add_trial_column("side", "the same in words")
    file.add_trial_column("number", "with holes")
    for i, choice in enumerate([0, 1, 1, 0]):
        number = np.nan if i == 1 else 10.0 * choice
        file.add_trial(start_time=float(i), stop_time=i + 1.0, choice=choice, side="lr"[choice], number=number)
    file.add_epoch(start_time=0.0, stop_time=1.0, tags=["dark"])
    file.add_epoch(start_time=1.0, stop_time=3.0, tags=["light"])
    return file
