import Testing

@testable import DispatchStore

@Suite struct RegistryIndexTests {
  private struct Wanted: ActionType {}
  private struct Other: ActionType {}

  /// An entry whose `responds(to:)` must not be called: its declared type is enough.
  private final class IndexedEntry: StoreEntry, @unchecked Sendable {
    override func responds(to type: any ActionType.Type) -> Bool {
      Issue.record("The index by type must not visit each store.")
      return false
    }
    override func departed() {}
  }

  private static func entry(
    _ identifier: String, of type: any ActionType.Type, at sequence: UInt64, waitFor: WaitFor = []
  ) -> IndexedEntry {
    IndexedEntry(
      identifier: identifier,
      StoreRegistration(sequence: sequence, waitFor: waitFor, ownership: .strong, endGate: nil),
      actionType: type, overrides: ReducerOverrides(of: Reducer<Int, Ping>()), calls: nil,
      strongStore: nil)
  }

  private static func registry(of types: [any ActionType.Type]) -> Registry {
    var registry = Registry(of: 1)
    for (place, type) in types.enumerated() {
      registry.insert { entry("\(place)", of: type, at: $0) }
    }
    return registry
  }

  @Test func storesThatDoNotRespondAreNotVisited() {
    let registry = Self.registry(of: Array(repeating: Other.self, count: 10_000) + [Wanted.self])
    #expect(registry.responders(to: Wanted.self).map(\.identifier) == ["10000"])
  }

  @Test func respondersAreInOrderOfRegistrationAlsoAfterOneHasGone() {
    var registry = Self.registry(of: [Wanted.self, Other.self, Wanted.self, Wanted.self])
    _ = registry.remove("2")
    #expect(registry.responders(to: Wanted.self).map(\.identifier) == ["0", "3"])
    #expect(registry.responders(to: Other.self).map(\.identifier) == ["1"])
  }

  @Test func noStoreRespondsOnceTheLastHasGone() {
    var registry = Self.registry(of: [Wanted.self])
    _ = registry.remove("0")
    #expect(registry.responders(to: Wanted.self).isEmpty)
    #expect(!registry.wasRegistered("0"))
  }

  @Test func prerequisitesAreRememberedWhileAStoreDeclaresThem() {
    var registry = Registry(of: 1)
    func register(_ identifier: String, waitFor: WaitFor = []) {
      registry.insert { Self.entry(identifier, of: Wanted.self, at: $0, waitFor: waitFor) }
    }
    register("present")
    register("former")
    _ = registry.remove("former")
    register("first", waitFor: ["present", "later", "former", "present"])
    register("second", waitFor: ["later"])
    register("later")
    for identifier in ["present", "later", "second"] { _ = registry.remove(identifier) }
    #expect(registry.wasRegistered("present") && registry.wasRegistered("later"))
    // Of one that was gone before it was declared, nothing is known.
    #expect(!registry.wasRegistered("former") && !registry.wasRegistered("second"))
    #expect(registry.identifierCount == 4)
    _ = registry.remove("first")
    #expect(!registry.wasRegistered("present") && !registry.wasRegistered("later"))
    #expect(registry.identifierCount == 0)
  }

  @Test func aChangeRemovesTheRoutesThatItConcernsAndNoOthers() {
    var registry = Self.registry(of: [Wanted.self, Other.self])
    func route(to type: any ActionType.Type) -> SharedRoute? {
      registry.route(
        for: RouteKey(dispatcher: 1, actionType: ObjectIdentifier(type), storeIdentifier: nil), type
      )
    }
    let (wanted, other) = (route(to: Wanted.self), route(to: Other.self))
    #expect(route(to: Wanted.self) === wanted)
    _ = registry.remove("0")
    let removed = registry.routes.takeRemoved()
    #expect(removed.count == 1 && removed[0] === wanted)
    #expect(route(to: Wanted.self) !== wanted)
    #expect(route(to: Other.self) === other)
    registry.insert(RegisteredMiddleware(RecordingMiddleware()))
    #expect(registry.routes.takeRemoved().count == 2)
    #expect(route(to: Other.self) !== other)
  }
}
