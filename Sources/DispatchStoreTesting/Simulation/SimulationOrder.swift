/// How a simulation draws who goes on.
public enum SimulationOrder: Sendable, Hashable {
  /// Any of those who can, with equal chances, at each step.
  case uniform
  /// Each goes on for as long as it can, in an order of priorities, but for some steps placed at random at
  /// which the one that runs falls behind all others.
  ///
  /// Finds what needs few preemptions at rare places. After Burckhardt and others, "A Randomized
  /// Scheduler with Probabilistic Guarantees of Finding Bugs", 2010.
  case rare(preemptions: Int)
  /// One or the other, by the seed.
  case mixed
}
