import BenchmarkSupport

/// How a reducer handles an action.
enum Answer: String, CaseIterable {
  case plain = "plain reduction"
  case operation = "operation"

  func fixture() -> Fixture<Add> {
    switch self {
    case .plain: Fixture(PlainReducer())
    case .operation: Fixture(OperationReducer())
    }
  }
}
