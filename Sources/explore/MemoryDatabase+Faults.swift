import DispatchStoreTesting

extension MemoryDatabase {
  /// Fails at some time, or not: the process crashes at a step or a commit, or the database is busy for a while.
  ///
  /// - Returns: Whether it may fail.
  @discardableResult
  func failAtSomeTime(_ simulation: SimulationControl) -> Bool {
    switch simulation.draw(below: 4) {
    case 0: fail(.crash, afterSteps: simulation.draw(below: 60))
    case 1: failAtCommit(.crash, number: simulation.draw(below: 8))
    case 2: fail(.busy, afterSteps: simulation.draw(below: 40), count: 2)
    default: return false
    }
    return true
  }
}
