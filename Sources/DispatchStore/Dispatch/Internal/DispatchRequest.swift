/// What one call of `dispatch` asks for.
struct DispatchRequest {
  enum Actions {
    case one(any ActionType)
    case several([any ActionType])

    var isEmpty: Bool {
      if case .several(let actions) = self { actions.isEmpty } else { false }
    }

    var first: (any ActionType)? {
      switch self {
      case .one(let action): action
      case .several(let actions): actions.first
      }
    }
  }

  var storeIdentifier: String?
  var actions: Actions
  var mode: Dispatcher.Mode
  var options: DispatchOptions
  var completion: Completion?
  var callSite: CallSite
}

/// A closure that a dispatch runs at its end.
@usableFromInline
enum Completion: Sendable {
  case plain(@Sendable () -> Void)
  case withResult(@Sendable (DispatchResult) -> Void)

  /// - Parameter result: Asked for where the closure wants it.
  @inline(__always)
  func run(_ result: () -> DispatchResult) {
    switch self {
    case .plain(let body): body()
    case .withResult(let body): body(result())
    }
  }
}
