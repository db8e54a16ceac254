import DispatchStore

/// Records "name will store" and "name did store", and calls closures for the verdict.
final class RecordingMiddleware: Middleware {
  typealias Will =
    @Sendable (DispatchInfo, AnyAction, AnyStore) throws -> MiddlewareVerdict
  typealias Did = @Sendable (StoreRunInfo, AnyAction, AnyStore) throws -> Void

  let name: String
  private let recorder: Recorder<String>
  private let will: Will
  private let did: Did

  init(
    _ name: String = "m", to recorder: Recorder<String> = Recorder(),
    will: @escaping Will = { _, _, _ in .pass }, did: @escaping Did = { _, _, _ in }
  ) {
    self.name = name
    self.recorder = recorder
    self.will = will
    self.did = did
  }

  /// One that vetoes the actions whose description is this.
  static func vetoing(_ description: String) -> RecordingMiddleware {
    RecordingMiddleware(will: { _, action, _ in
      "\(action)" == description ? .veto(reason: "no") : .pass
    })
  }

  func willDispatch(
    transaction: DispatchInfo, action: AnyAction, in store: AnyStore
  ) throws -> MiddlewareVerdict {
    recorder.record("\(name) will \(store.identifier)")
    return try will(transaction, action, store)
  }

  func didDispatch(
    transaction: StoreRunInfo, action: AnyAction, in store: AnyStore
  ) throws {
    recorder.record("\(name) did \(store.identifier)")
    try did(transaction, action, store)
  }
}
