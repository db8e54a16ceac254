import DispatchStore

/// Decides which thread runs next at each step: drawn from a seed, or as recorded before.
struct Schedule {
  /// A choice other than the plain one.
  ///
  /// The plain choice is the running thread, or the first candidate if the running thread has to wait.
  struct Deviation: Hashable, Sendable {
    let decision: Int
    let choice: Int
  }

  private enum Policy {
    case uniform
    /// Chooses the thread of highest priority.
    ///
    /// At these decisions, the running thread falls behind all others.
    case priorities(preemptions: Set<Int>)
    case recorded([Int: Int])
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

  /// Repeats the deviations of a run with the same seed.
  init(seed: UInt64, deviations: [Deviation]) {
    generator = SeededGenerator(seed: seed)
    policy = .recorded(
      Dictionary(deviations.map { ($0.decision, $0.choice) }, uniquingKeysWith: { $1 }))
  }

  /// Draws preemptions in a random range, because the length of the run is unknown.
  ///
  /// The range is drawn evenly by its order of magnitude.
  private static func rare(_ count: Int, _ generator: inout SeededGenerator) -> Policy {
    if count < 0 {
      stopProgram(
        "A simulation can't have \(count) preemptions. Pass zero or more to .rare(preemptions:).")
    }
    let length = 1 << Int.random(in: 4...9, using: &generator)
    return .priorities(
      preemptions: Set((0..<count).map { _ in Int.random(in: 0..<length, using: &generator) }))
  }

  /// Returns a priority for new work, above all threads that fell behind.
  mutating func makePriority() -> UInt64 {
    generator.next() | 1 << 63
  }

  /// Returns the index of the candidate that runs next.
  ///
  /// - Parameters:
  ///   - present: The index of the running thread, if it can continue.
  ///   - fallBehind: Sets the priority of the running thread.
  ///   - priority: Returns the priority of the candidate at an index.
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
      // Now and then any candidate, so that a thread that polls can't starve the one that it waits for.
      choice =
        decision % Self.fairness == Self.fairness - 1
        ? Int.random(in: 0..<count, using: &generator)
        : (0..<count).max { priority($0) < priority($1) }!
    case .recorded(let choices):
      choice = choices[decision].map { min($0, count - 1) } ?? plain
    }
    if choice != plain { deviations.append(Deviation(decision: decision, choice: choice)) }
    return choice
  }
}
