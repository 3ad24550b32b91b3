from enum import IntEnum

import gymnasium as gym
from gymnasium import spaces


class Play(IntEnum):
    STICK = 0
    HIT = 1
    DOUBLE = 2


DECK = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10] * 4


def usable_ace(hand):
    return 1 in hand and sum(hand) + 10 <= 21


def hand_value(hand):
    return sum(hand) + 10 if usable_ace(hand) else sum(hand)


def is_bust(hand):
    return hand_value(hand) > 21


def is_natural(hand):
    return sorted(hand) == [1, 10]


def compare(a, b):
    return float(a > b) - float(a < b)


class BlackjackShoeEnv(gym.Env):
    """
    Blackjack dealt from a real shoe, so that counting cards pays off. An episode is a whole
    shoe: it ends when the cut card comes out.

    Observation: (hand value, dealer's card, usable ace?, can double?, running count + 40)
    """

    metadata = {"render_modes": ["ansi"]}

    def __init__(self, n_decks=2, penetration=0.75, natural_bonus=0.5, render_mode=None):
        assert 0 < penetration < 1 and n_decks >= 1
        self.n_decks = n_decks
        self.penetration = penetration
        self.natural_bonus = natural_bonus
        self.render_mode = render_mode
        self.action_space = spaces.Discrete(3)
        self.observation_space = spaces.Tuple(
            (
                spaces.Discrete(32),
                spaces.Discrete(11),
                spaces.Discrete(2),
                spaces.Discrete(2),
                spaces.Discrete(81),
            )
        )

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.shoe = DECK * self.n_decks
        self.np_random.shuffle(self.shoe)
        self.cut = int(len(self.shoe) * (1 - self.penetration))
        self.count = 0
        self.balance = 0.0
        self.hands = 0
        self.deal()
        return self._get_obs(), self._get_info()

    def draw(self, hidden=False):
        if not self.shoe:
            # out of cards in the middle of a hand
            self.shoe = DECK[:]
            self.np_random.shuffle(self.shoe)
        card = self.shoe.pop()
        if not hidden:
            self.see(card)
        return card

    def see(self, card):
        # Hi-Lo
        if 2 <= card <= 6:
            self.count += 1
        elif card in (1, 10):
            self.count -= 1

    def deal(self):
        self.player = [self.draw(), self.draw()]
        self.dealer = [self.draw(), self.draw(hidden=True)]
        self.hands += 1

    def dealer_plays(self):
        self.see(self.dealer[1])
        while hand_value(self.dealer) < 17:
            self.dealer.append(self.draw())

    def _get_obs(self):
        count = min(max(self.count, -40), 40) + 40
        return (
            hand_value(self.player),
            self.dealer[0],
            int(usable_ace(self.player)),
            int(len(self.player) == 2),
            count,
        )

    def _get_info(self):
        return {"balance": self.balance, "hands": self.hands, "cards_left": len(self.shoe)}

    def step(self, action):
        assert self.action_space.contains(action)
        action = Play(action)
        if action == Play.DOUBLE and len(self.player) > 2:
            action = Play.HIT

        reward = 0.0
        over = True
        stake = 2 if action == Play.DOUBLE else 1
        if action != Play.STICK:
            self.player.append(self.draw())

        if is_bust(self.player):
            reward = -float(stake)
        elif action == Play.HIT:
            over = False
        else:
            self.dealer_plays()
            score = 0 if is_bust(self.dealer) else hand_value(self.dealer)
            reward = stake * compare(hand_value(self.player), score)
            if is_natural(self.player) and not is_natural(self.dealer):
                reward = 1.0 + self.natural_bonus

        terminated = False
        if over:
            self.balance += reward
            terminated = len(self.shoe) <= self.cut
            if not terminated:
                self.deal()
        return self._get_obs(), reward, terminated, False, self._get_info()

    def render(self):
        if self.render_mode == "ansi":
            names = {1: "A", 10: "T"}
            cards = " ".join(names.get(c, str(c)) for c in self.player)
            up = names.get(self.dealer[0], self.dealer[0])
            return f"You: {cards} ({hand_value(self.player)})  Dealer: {up} ?  {self.balance:+.1f}"
