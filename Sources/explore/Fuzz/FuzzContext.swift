/// The code that a list of statements is for.
struct FuzzContext {
  enum Kind: Hashable {
    /// A thread, a task, or an operation of the program's own: no code waits for it.
    case root(isTask: Bool)
    case block, asyncBlock, child
    case hook, completion
    case observer(Int)
    /// An exclusive section.
    case section
    /// While the queue is suspended.
    case suspended
  }

  var kind: Kind
  var depth = 0
  /// Whether only blocks and roots are around it.
  var isOutsideNotifications = true
  /// Whether it may be inside a block of a store, whose operation it may commit for.
  var hasOwnStore = false
  /// Whether a dispatch or an exclusive section waits for it.
  var isInsideDispatch = false

  /// Whether it is in no dispatch, nor in what one has started.
  var isFree = false
  /// Whether its task will be cancelled.
  var isTaskCancelled = false

  /// The dispatcher of the group whose steps are drawn.
  var groupDispatcher: Int?

  /// Whether its thread is to resume a queue after it: it may wait for nothing that is queued there.
  var holdsQueue = false

  static func root(isTask: Bool) -> FuzzContext {
    FuzzContext(kind: .root(isTask: isTask), isFree: true)
  }

  static func observer(_ place: Int) -> FuzzContext {
    FuzzContext(
      kind: .observer(place), depth: 1, isOutsideNotifications: false, isInsideDispatch: true)
  }

  func inner(_ kind: Kind) -> FuzzContext {
    var inner = self
    inner.kind = kind
    inner.groupDispatcher = nil
    inner.depth += 1
    if kind != .child { inner.isTaskCancelled = false }
    inner.holdsQueue = kind == .suspended || kind == .section && holdsQueue
    switch kind {
    case .root:
      inner.hasOwnStore = false
      inner.isInsideDispatch = false
    case .block, .asyncBlock:
      inner.hasOwnStore = true
      inner.isInsideDispatch = true
    case .child: break
    case .hook, .completion, .observer:
      inner.isOutsideNotifications = false
      inner.hasOwnStore = false
      inner.isInsideDispatch = true
    case .section, .suspended: inner.hasOwnStore = false
    }
    if inner.isInsideDispatch { inner.isFree = false }
    return inner
  }

  var isAsync: Bool {
    switch kind {
    case .root(let isTask): isTask
    case .asyncBlock, .child: true
    default: false
    }
  }

  /// Whether it may only dispatch, and not with `.sync`.
  var mayOnlyEnqueue: Bool { kind == .section || kind == .suspended }
}
