extension StorePart {
  @usableFromInline typealias Observation = @Sendable (ChildChange<Model?>) -> Void
  @usableFromInline typealias Comparison = @Sendable (Model, Model) -> Bool

  /// - Parameter areEqual: Suppresses a value that equals the previous one; nil delivers every value.
  @inlinable
  func observe(
    on delivery: ObserverDelivery?, initial: Bool, by areEqual: Comparison?,
    _ body: @escaping Observation
  ) -> ObserverToken {
    root.observe(selection(by: areEqual, body), on: delivery, initial: initial)
  }

  @inlinable
  func observe(
    on delivery: MainDelivery, initial: Bool, by areEqual: Comparison?,
    _ body: @escaping @MainActor @Sendable (ChildChange<Model?>) -> Void
  ) -> ObserverToken {
    root.observe(selection(by: areEqual, PartRoot.onMain(body)), on: delivery, initial: initial)
  }

  @inlinable
  func selection(
    by areEqual: Comparison?, _ body: @escaping Observation
  ) -> ChildObserver.Selection {
    let (path, last) = (path, LastValue<Model>())
    return { model, isFirst in
      var call: ChildObserver.Call?
      let isFound = path.read(model) { part in
        if let areEqual {
          if !isFirst, let last = last.value, areEqual(last, part.pointee) { return }
          last.value = part.pointee
        }
        let value = part.pointee
        call = { body(ChildChange(value, of: $0)) }
      }
      if isFound { return call }
      if areEqual != nil {
        if !isFirst, last.value == nil { return nil }
        last.value = nil
      }
      return { body(ChildChange(nil, of: $0)) }
    }
  }
}

extension PartRoot {
  @usableFromInline
  func observe(
    _ select: @escaping ChildObserver.Selection, on delivery: ObserverDelivery?, initial: Bool
  ) -> ObserverToken {
    add(
      ChildObserver(select, on: delivery.map { ObserverQueue($0) }, actionOf: actionOf), initial)
  }

  @usableFromInline
  func observe(
    _ select: @escaping ChildObserver.Selection, on delivery: MainDelivery, initial: Bool
  ) -> ObserverToken {
    add(ChildObserver(select, on: .main, actionOf: actionOf), initial)
  }

  @usableFromInline
  static func onMain<Change: Sendable>(
    _ body: @escaping @MainActor @Sendable (Change) -> Void
  ) -> @Sendable (Change) -> Void {
    ObserverQueue.onMain(body)
  }
}
