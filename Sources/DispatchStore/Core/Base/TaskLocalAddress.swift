/// The addresses at which the runtime keeps task-local values of the current task.
///
/// A task that binds a value keeps it in its own memory. Child tasks find it there, whatever their executor, while an
/// unstructured task has a copy. So the address tells whether the current task bound the value, or is a child of the
/// task that did. Nothing public in the runtime tells this. In the body of a task group, a binding is copied to child
/// tasks, too.
enum TaskLocalAddress {
  /// Returns the address of the current task's value, or zero if it has none.
  static func current<Value>(of local: TaskLocal<Value>) -> UInt {
    UInt(bitPattern: localValue(Unmanaged.passUnretained(local).toOpaque()))
  }

  /// Whether child tasks get a copy of a value that the current task binds now.
  static var isCopied: Bool { hasTaskGroup() }
}

// Functions of the runtime's binary interface, which `TaskLocal` calls.

@_silgen_name("swift_task_localValueGet")
private func localValue(_ key: UnsafeRawPointer) -> UnsafeRawPointer?

@_silgen_name("swift_task_hasTaskGroupStatusRecord")
private func hasTaskGroup() -> Bool
