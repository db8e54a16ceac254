/// The keys of the lanes in which dispatches have priorities.
///
/// Under the lock keys are distinguished by their hashes and by identity; the program's code compares them outside.
final class PrioritizedLanes: DispatcherAttachment {
  /// Keys by hash.
  private let keys = Locked([Int: [TypedKey]]())

  func contains(_ key: TypedKey) -> Bool {
    keys.withLock { $0[key.hash] ?? [] }.contains(key)
  }

  func insert(_ key: TypedKey) {
    change(at: key.hash) { $0.contains(key) ? $0 : $0 + [key] }
  }

  func remove(_ key: TypedKey) {
    change(at: key.hash) { $0.filter { $0 != key } }
  }

  private func change(at hash: Int, _ body: ([TypedKey]) -> [TypedKey]) {
    while true {
      let before = keys.withLock { $0[hash] ?? [] }
      let after = body(before)
      let isDone = keys.withLock { keys in
        guard (keys[hash] ?? []).elementsEqual(before, by: ===) else { return false }
        keys[hash] = after.isEmpty ? nil : after
        return true
      }
      if isDone { return }
    }
  }
}
