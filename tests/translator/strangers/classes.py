"""The strangers' classes: (module, class, constructor keywords to try, max_episode_steps)."""

CLASSES = [
    ("snake", "SnakeEnv", [{}, {"size": 6}, {"size": 12, "start_length": 5}], None),
    ("game_2048", "Game2048Env", [{}, {"size": 3, "goal": 64}, {"max_illegal": 5}], None),
    (
        "minesweeper",
        "Minesweeper",
        [{}, {"height": 8, "width": 5, "n_mines": 4}, {"n_mines": 1}],
        None,
    ),
    (
        "inventory",
        "LostSalesInventoryEnv",
        [{}, {"lead_time": 4, "demand_mean": 20.0}, {"capacity": 30, "horizon": 25}],
        None,
    ),
    (
        "elevator",
        "ElevatorEnv",
        [{}, {"n_floors": 10, "capacity": 8, "arrival_prob": 0.5}, {"max_ticks": 50}],
        None,
    ),
    (
        "traffic_light",
        "TrafficLightEnv",
        [{}, {"yellow": 1, "min_green": 2}, {"rates": {"north": 0.6}, "max_queue": 25}],
        200,
    ),
    (
        "job_queue",
        "AdmissionControlEnv",
        [{}, {"servers": 1, "arrival_rate": 0.8}, {"buffer": 2, "max_time": 20.0}],
        None,
    ),
    (
        "portfolio",
        "PortfolioEnv",
        [{}, {"n_assets": 8, "window": 5}, {"fee": 0.01, "episode_days": 40}],
        None,
    ),
    ("epidemic", "EpidemicEnv", [{}, {"population": 500, "beta": 0.6}, {"import_rate": 0.0}], 150),
    ("lander", "SimpleLander", [{}, {"fuel": 50}, {"wind_power": 1.0}], 400),
    (
        "mountain_car",
        "WindyMountainCarEnv",
        [{}, {"wind_std": 0.001}, {"battery": 10.0, "wind_memory": 0.5}],
        250,
    ),
    (
        "key_maze",
        "KeyMazeEnv",
        [{}, {"slip": 0.3}, {"maze": ("#####", "#Sa.#", "#.#A#", "#..G#", "#####")}],
        100,
    ),
    ("pursuit", "PursuitEnv", [{}, {"size": 5, "n_rocks": 2}, {"hare_skill": 0.0}], 100),
    ("blackjack", "BlackjackShoeEnv", [{}, {"n_decks": 1}, {"penetration": 0.5}], None),
    ("connect_four", "ConnectFourEnv", [{}, {"smart_opponent": True}, {"connect": 3}], None),
    ("sailing", "SailingEnv", [{}, {"size": 4}, {"gusty": True}], 150),
    (
        "thermostat",
        "ThermostatEnv",
        [{}, {"n_rooms": 5}, {"outside_mean": -10.0, "comfort_weight": 2.0}],
        288,
    ),
    (
        "drone_hover",
        "DroneHoverEnv",
        [{}, {"gust_std": 2.0, "rotor_lag": 0.1}, {"target": (1.0, 2.0), "max_steps": 60}],
        None,
    ),
    (
        "bandit",
        "DriftingBanditEnv",
        [{}, {"n_arms": 10, "change_prob": 0.1}, {"heavy_tails": True, "n_pulls": 50}],
        None,
    ),
    ("text_grid", "TextGridEnv", [{}, {"level": "cave"}, {"ice": 0.9, "time_limit": 30}], None),
]
