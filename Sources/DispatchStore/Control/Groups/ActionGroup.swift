/// Steps that run one after the other or concurrently, as a value; groups nest.
///
///     let order = ActionGroup {
///       ActionStep(Reserve(item), mode: .serial(lane: item)).compensated(by: Release(item))
///       ActionGroup(.concurrent(limit: 2)) {
///         for address in addresses { Notify(address) }
///       }
///       if isGift { Wrap(item) }
///     }
///     let result = await dispatcher.send(order)
///
/// A step is an action, an `ActionStep`, or a group in the group. A group may be run any number of times:
/// `Dispatcher.dispatch(_:then:onProgress:)` returns a handle at once, `Dispatcher.send(_:onProgress:)` runs it in the
/// caller's own task.
///
/// A group succeeds where all of its steps do. The first one that fails, is vetoed or cancelled stops its group: of a
/// sequence the rest is skipped, of a concurrent group what runs is cancelled, too. Then the group has failed, which
/// stops the one around it. Before it ends, the outermost of those that have stopped compensates what finished in it
/// (`ActionStep.compensated(by:storeIdentifier:mode:options:ifOnlyBegun:)`).
///
/// It takes memory linear in the steps; building takes time linear in them for each level of nesting.
public struct ActionGroup: Sendable {
  /// How the steps of a group run.
  public struct Order: Hashable, Sendable {
    /// Of those that run at once; nil for a sequence.
    let limit: Int?

    /// One after the other.
    public static let sequence = Order(limit: nil)

    /// Concurrently, however many there are.
    public static let concurrent = concurrent(limit: .max)

    /// Concurrently, so many of them at once; they start in the order in which they are written.
    ///
    /// - Precondition: The limit is positive.
    public static func concurrent(limit: Int) -> Order {
      if limit < 1 {
        stopProgram("A group was made with the limit \(limit): none of its steps could run.")
      }
      return Order(limit: limit)
    }
  }

  /// The group, and all that is in it, in the order in which they are written.
  private(set) var nodes: [GroupNode]

  /// Makes a group of steps.
  ///
  /// - Parameters:
  ///   - order: How the steps run.
  ///   - content: The steps.
  public init(_ order: Order = .sequence, @ActionGroupBuilder _ content: () -> Content) {
    let content = content().nodes
    nodes = []
    nodes.reserveCapacity(content.count + 1)
    nodes.append(GroupNode(.group(order, continuesOnFailure: false), size: content.count + 1))
    nodes += content
  }

  /// The same group, in which a step that fails, is vetoed or cancelled does not keep others from running.
  ///
  /// It fails at the end if one of them has. What finished in it is compensated only where it is cancelled, or where a
  /// group around it stops.
  public func continuingOnFailure() -> ActionGroup {
    var copy = self
    if case .group(let order, _) = nodes[0].kind {
      copy.nodes[0].kind = .group(order, continuesOnFailure: true)
    }
    return copy
  }

  /// How many steps it has, with those of the groups in it.
  public var stepCount: Int {
    nodes.lazy.filter(\.isStep).count
  }

  /// What a result builder has made of a part of a group.
  public struct Content: Sendable {
    var nodes: [GroupNode]
  }
}
