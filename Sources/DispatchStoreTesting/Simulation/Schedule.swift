/// Who goes on at each step: drawn from a seed, or as noted before.
struct Schedule {
  /// A choice that is not the plain one, at which the thread that runs goes on, or else the first.
  struct Deviation: Hashable, Sendable {
    let decision: Int
    let choice: Int
  }

  private enum Policy {
    case uniform
    /// By priority; the decisions at which the one that runs falls behind.
    case priorities(preemptions: Set<Int>)
    case noted([Int: Int])
  }

  private static let fairness = 64
  private let policy: Policy
  private var generator: SeededGenerator
  private var decisionCount = 0
  private var lowest = UInt64(1) << 32
  private(set) var deviations: [Deviation] = []

  init(seed: UInt64, order: SimulationOrder) {
    generator = SeededGenerator(seed: seed)
    switch order {
    case .uniform:
      policy = .uniform
    case .rare(let preemptions):
      policy = Self.rare(preemptions, &generator)
    case .mixed:
      let kind = generator.next() % 4
      policy = kind < 2 ? .uniform : Self.rare(Int(kind == 2 ? 1 : 3), &generator)
    }
  }

  /// As noted in a run with the same seed.
  init(seed: UInt64, deviations: [Deviation]) {
    generator = SeededGenerator(seed: seed)
    policy = .noted(
      Dictionary(deviations.map { ($0.decision, $0.choice) }, uniquingKeysWith: { $1 }))
  }

  /// How long a run will be is not known: its length is drawn too, evenly by its order of magnitude.
  private static func rare(_ count: Int, _ generator: inout SeededGenerator) -> Policy {
    let length = 1 << Int.random(in: 4...9, using: &generator)
    return .priorities(
      preemptions: Set((0..<count).map { _ in Int.random(in: 0..<length, using: &generator) }))
  }

  /// A priority for a new piece of work, above all that fell behind.
  mutating func makePriority() -> UInt64 {
    generator.next() | 1 << 63
  }

  /// Which of the candidates goes on.
  ///
  /// - Parameters:
  ///   - present: The place of the one that runs, where it can go on.
  ///   - priority: By place; it may be set.
  mutating func choose(
    among count: Int, present: Int?, fallBehind: (_ priority: UInt64) -> Void,
    priority: (Int) -> UInt64
  ) -> Int {
    guard count > 1 else { return 0 }
    let decision = decisionCount
    decisionCount += 1
    let plain = present ?? 0
    let choice: Int
    switch policy {
    case .uniform:
      choice = Int.random(in: 0..<count, using: &generator)
    case .priorities(let preemptions):
      if preemptions.contains(decision), present != nil {
        lowest -= 1
        fallBehind(lowest)
      }
      // From time to time any of them, lest one that polls keeps what it waits for from going on.
      choice =
        decision % Self.fairness == Self.fairness - 1
        ? Int.random(in: 0..<count, using: &generator)
        : (0..<count).max { priority($0) < priority($1) }!
    case .noted(let choices):
      choice = choices[decision].map { min($0, count - 1) } ?? plain
    }
    if choice != plain { deviations.append(Deviation(decision: decision, choice: choice)) }
    return choice
  }
}
