/// The handlers of a store, one for each action type, in the order in which the types were first added.
struct HandlerTable<Model: Sendable>: Sendable {
  private(set) var all: [Handler<Model>] = []
  private var indices: [ObjectIdentifier: Int] = [:]

  init(_ handlers: Handlers<Model>) {
    add(handlers)
  }

  /// Adds handlers.
  ///
  /// Handlers of one type for several parts, added together, become one that replaces the current handler.
  mutating func add(_ handlers: Handlers<Model>) {
    var added: [ObjectIdentifier: [Handler<Model>]] = [:]
    var order: [ObjectIdentifier] = []
    for handler in handlers.all {
      let type = ObjectIdentifier(handler.actionType)
      if added[type] == nil { order.append(type) }
      added[type, default: []].removeAll { $0.path == handler.path }
      added[type]!.append(handler)
    }
    for type in order { put(.joined(added[type]!), type) }
  }

  private mutating func put(_ handler: Handler<Model>, _ type: ObjectIdentifier) {
    if let index = indices[type] {
      all[index] = handler
    } else {
      indices[type] = all.count
      all.append(handler)
    }
  }

  /// Removes the handler of a type.
  ///
  /// Returns whether there was one.
  mutating func remove(_ type: any ActionType.Type) -> Bool {
    guard let index = indices.removeValue(forKey: ObjectIdentifier(type)) else { return false }
    all.remove(at: index)
    for (type, other) in indices where other > index { indices[type] = other - 1 }
    return true
  }

  /// Returns the handler for actions of a type.
  ///
  /// A class without a handler of its own gets the nearest superclass's.
  func handler(for type: any ActionType.Type) -> Handler<Model>? {
    nearestIndex(to: type).map { all[$0] }
  }

  func nearestIndex(to type: any ActionType.Type) -> Int? {
    if let index = indices[ObjectIdentifier(type)] { return index }
    guard type is AnyClass else { return nil }
    return all.indices.filter { all[$0].responds(to: type) }.max { nearer, further in
      all[nearer].responds(to: all[further].actionType)
    }
  }
}
