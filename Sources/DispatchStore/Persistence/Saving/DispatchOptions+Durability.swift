/// When a dispatch to persistent stores ends.
public enum Durability: Sendable {
  /// Once everything is saved that was committed before its stores' end.
  case saved
  /// At its stores' end: a crash can undo it.
  case memory
}

extension DispatchOptions {
  /// Decides whether the dispatch ends before its commits are saved.
  ///
  /// `.saved`, the default, waits for the transaction. `.memory` ends when the last handler has returned: faster, and a
  /// crash can undo it. The commits are saved soon after.
  public static func durability(_ durability: Durability) -> DispatchOptions {
    DispatchOptions().controlled { $0.endsUnsaved = durability == .memory }
  }
}
