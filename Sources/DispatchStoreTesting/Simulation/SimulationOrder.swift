/// The way in which a simulation draws the thread that runs at each step.
public enum SimulationOrder: Sendable, Hashable {
  /// Draws any thread that can run, with equal chances, at each step.
  case uniform
  /// Runs the thread of highest priority as long as it can, with rare preemptions.
  ///
  /// At some steps, drawn at random, the running thread falls behind all others. This finds bugs that need few
  /// preemptions at rare places. See Burckhardt and others, "A Randomized Scheduler with Probabilistic Guarantees of
  /// Finding Bugs", 2010.
  ///
  /// - Precondition: The number is not negative.
  case rare(preemptions: Int)
  /// Uses `uniform` or `rare`, depending on the seed.
  case mixed
}
