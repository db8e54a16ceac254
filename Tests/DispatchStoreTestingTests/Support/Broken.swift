/// An expectation of a scenario that failed: thrown, since no test framework knows a world's threads.
struct Broken: Error, CustomStringConvertible {
  let description: String
}

func check(_ isKept: Bool, _ seen: @autoclosure () -> String) throws {
  if !isKept { throw Broken(description: seen()) }
}
