/// When a dispatch to persistent stores ends.
public enum Durability: Sendable {
  /// Once everything is saved that was committed before its stores' end.
  case saved
  /// At its stores' end: a crash can undo it.
  case memory
}

extension DispatchOptions {
  /// Ends the dispatch at its stores' end, or once their commits are saved: the default.
  ///
  /// With `.memory` the commits are saved all the same, a little later.
  public static func durability(_ durability: Durability) -> DispatchOptions {
    DispatchOptions().controlled { $0.endsUnsaved = durability == .memory }
  }
}
