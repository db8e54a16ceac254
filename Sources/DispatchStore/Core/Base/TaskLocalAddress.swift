/// Where the runtime keeps the task-local values of the current task.
///
/// A task that binds a value keeps it in its own memory. Its child tasks find it there, with whatever executor, while an
/// unstructured task has a copy: so the address says whether the current task is the one that bound it, or is a child of
/// that. Nothing public of the runtime does. In the body of a task group, a binding is copied to child tasks, too.
enum TaskLocalAddress {
  /// The address of the value that the current task has; zero where it has none.
  static func current<Value>(of local: TaskLocal<Value>) -> UInt {
    UInt(bitPattern: localValue(Unmanaged.passUnretained(local).toOpaque()))
  }

  /// Whether what the current task binds now is copied to its child tasks.
  static var isCopied: Bool { hasTaskGroup() }
}

// Part of the runtime's binary interface, where `TaskLocal` calls them.

@_silgen_name("swift_task_localValueGet")
private func localValue(_ key: UnsafeRawPointer) -> UnsafeRawPointer?

@_silgen_name("swift_task_hasTaskGroupStatusRecord")
private func hasTaskGroup() -> Bool
