/// A task-local value that is read when an action is dispatched, and bound when it runs.
///
/// An operation queue does not propagate task-local values. A dispatcher binds the values that it was created with in
/// blocks, hooks, inline observers and completions.
public struct CarriedTaskLocal: Sendable {
  let calls: CapturedTaskLocal.Calls

  /// Carries a task-local value, such as `CarriedTaskLocal(Request.$id)`.
  @inlinable
  public init<Value: Sendable>(_ local: TaskLocal<Value>) {
    self.init(
      calls: CapturedTaskLocal.Calls(
        size: MemoryLayout<Value>.size, alignment: MemoryLayout<Value>.alignment,
        capture: { $0.initializeMemory(as: Value.self, to: local.get()) },
        copy: { value, memory in
          memory.initializeMemory(
            as: Value.self, to: value.assumingMemoryBound(to: Value.self).pointee)
        },
        clear: { $0.assumingMemoryBound(to: Value.self).deinitialize(count: 1) },
        bind: { value, body in
          local.withValue(value.assumingMemoryBound(to: Value.self).pointee, operation: body)
        },
        bindInTask: { value, body in
          await local.withValue(
            value.assumingMemoryBound(to: Value.self).pointee, operation: { await body() })
        }))
  }

  @usableFromInline
  init(calls: CapturedTaskLocal.Calls) {
    self.calls = calls
  }
}
