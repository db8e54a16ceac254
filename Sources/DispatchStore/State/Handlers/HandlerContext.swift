/// The view that a `Perform` handler has of its dispatch: its part of the model, the dispatcher, and the outcomes of
/// the stores that it waited for.
///
/// It is valid as long as the handler runs. It keeps the dispatcher alive, so do not store it.
public struct HandlerContext<Model: Sendable>: Sendable {
  @usableFromInline let part: StorePart<Model, HandledAction>
  private let home: Dispatcher?

  @usableFromInline
  init(_ part: StorePart<Model, HandledAction>, _ home: Dispatcher?) {
    self.part = part
    self.home = home
  }

  /// The dispatcher that runs the action; send further actions through it.
  public var dispatcher: Dispatcher {
    guard let home else {
      stopProgram(
        """
        A handler of store "\(storeIdentifier)" asked for its dispatcher, but its operation was run outside of a \
        dispatch, and the store is registered with no dispatcher.
        """)
    }
    return home
  }

  /// The identifier of the handler's store.
  public var storeIdentifier: String { part.root.storage.identifier }

  /// A copy of the handler's part of the model.
  ///
  /// Throws a `DispatchError` with the code `partMissing` if an optional `Part` has disappeared.
  @inlinable
  public var model: Model {
    get throws {
      guard let model = part.snapshot() else { throw part.missing }
      return model
    }
  }

  /// Reads the handler's part of the model in the store's exclusive section.
  ///
  /// Throws as `model` does.
  @inlinable
  public func withModel<Value>(_ body: (Model) throws -> Value) throws -> Value {
    guard let value = try part.withModel(body) else { throw part.missing }
    return value
  }

  /// Changes the handler's part of the model in place, as one commit of the store.
  ///
  /// Behaves like `Store.updateModel`, also if the closure throws. If the part is missing, nothing is committed, and
  /// this throws as `model` does.
  @inlinable
  @discardableResult
  public func updateModel<Value>(_ body: (inout Model) throws -> Value) throws -> Value {
    try part.updatePresentModel(body)
  }

  /// The outcomes of the stores that this one waits for, in the order in which they ran.
  ///
  /// A store that is registered to run regardless learns here which of its prerequisites failed.
  public var prerequisiteResults: [StoreResult] { part.root.prerequisiteResults() }
}
