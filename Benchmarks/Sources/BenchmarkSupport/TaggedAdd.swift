public import DispatchStore

/// Adds an amount; each tag makes a separate action type, and so separate stores.
public struct TaggedAdd<Tag>: ActionType {
  /// The amount.
  public let amount: UInt8

  /// Makes an action; of `amount` the lowest byte counts.
  @inline(__always)
  public init(_ amount: Int) {
    self.amount = UInt8(truncatingIfNeeded: amount)
  }
}

/// Makes a plain reduction of tagged actions.
public final class TaggedReducer<Tag>: Reducer<Counter, TaggedAdd<Tag>> {
  override public func reduce(into counter: inout Counter, action: TaggedAdd<Tag>) {
    counter.add(Int(action.amount))
  }
}

/// The tags.
public enum Tag {
  /// A tag.
  public enum A {}
  /// A tag.
  public enum B {}
  /// A tag.
  public enum C {}
  /// A tag.
  public enum D {}
  /// A tag.
  public enum E {}
  /// A tag.
  public enum F {}
  /// A tag.
  public enum G {}
  /// A tag.
  public enum H {}
}
