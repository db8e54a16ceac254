/// A closure that a dispatch runs at its end.
@usableFromInline
enum Completion: Sendable {
  case plain(@Sendable () -> Void)
  case withResult(@Sendable (DispatchResult) -> Void)

  /// Calls the closure.
  ///
  /// - Parameter result: Evaluated only for a closure that takes it.
  func run(_ result: @autoclosure () -> DispatchResult) {
    switch self {
    case .plain(let body): body()
    case .withResult(let body): body(result())
    }
  }
}
