/// How a simulation draws which thread runs at each step.
public enum SimulationOrder: Sendable, Hashable {
  /// Any thread that can run, with equal chances, at each step.
  case uniform
  /// The thread of highest priority, which runs as long as it can, except at some steps, drawn at random, at
  /// which the one that runs falls behind all others.
  ///
  /// Finds what needs few preemptions at rare places. After Burckhardt and others, "A Randomized
  /// Scheduler with Probabilistic Guarantees of Finding Bugs", 2010.
  case rare(preemptions: Int)
  /// One or the other, depending on the seed.
  case mixed
}
