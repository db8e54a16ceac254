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

  /// The request without what its end lets go of: chains of handles and closures end here.
  var spent: DispatchRequest {
    var spent = self
    spent.actions = .several([])
    spent.options.after = []
    spent.completion = nil
    return spent
  }
}

/// A closure that a dispatch runs at its end.
enum Completion: Sendable {
  case plain(@Sendable () -> Void)
  case withResult(@Sendable (DispatchResult) -> Void)

  func run(_ result: DispatchResult) {
    switch self {
    case .plain(let body): body()
    case .withResult(let body): body(result)
    }
  }
}
