import DispatchStore

extension DispatchResult {
  /// The code, where the dispatcher itself ended the dispatch.
  var errorCode: DispatchError.Code? { (error as? DispatchError)?.code }
}

extension ActionGroupResult {
  /// The code, where a dispatcher itself ended the group or its step.
  var errorCode: DispatchError.Code? { (error as? DispatchError)?.code }
}

extension StoreOutcome {
  /// The code, where the dispatcher itself ended the store run.
  var errorCode: DispatchError.Code? { (error as? DispatchError)?.code }

  func wasCancelled(afterItsStart: Bool) -> Bool {
    if case .cancelled(afterItsStart) = self { true } else { false }
  }
}
