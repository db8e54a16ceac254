/// The keys of the lanes in which dispatches have priorities.
final class PrioritizedLanes: DispatcherAttachment {
  private let keys = KeyedTable<TypedKey>()

  func contains(_ key: TypedKey) -> Bool { keys.present(key) != nil }

  func insert(_ key: TypedKey) { _ = keys.member(of: key) { key } }

  func remove(_ key: TypedKey) { keys.remove(keys.present(key), of: key) }
}
