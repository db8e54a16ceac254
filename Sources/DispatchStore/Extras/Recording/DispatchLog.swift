public import Foundation

/// Dispatches that a recorder has noted, in the order in which they ended: a value to search, to save and to draw.
///
/// Everything in it is text or a number, so it needs none of the program's types.
public struct DispatchLog: Sendable, Equatable {
  /// The name of the dispatcher.
  public var dispatcher: String
  /// The time from which `Entry.began` counts.
  public var origin: Date
  /// The number of the recorder's entries that this log lacks: they were dropped, or not read.
  public var droppedCount: Int
  /// The entries.
  public var entries: [Entry]

  /// Makes a log.
  public init(
    dispatcher: String, origin: Date, droppedCount: Int = 0, entries: [Entry] = []
  ) {
    (self.dispatcher, self.origin) = (dispatcher, origin)
    (self.droppedCount, self.entries) = (droppedCount, entries)
  }

  /// A dispatch, or a change of a model outside of any dispatch.
  public struct Entry: Sendable, Equatable {
    /// Kinds of entries.
    public enum Kind: String, Sendable, Codable {
      /// A dispatch of one action.
      case action
      /// A dispatch of several actions, each of which has an entry with this one as its parent.
      case sequence
      /// A change of a model outside of any dispatch, or by a dispatch of another dispatcher.
      case change
    }

    /// The kind of the entry.
    public let kind: Kind
    /// The number of the dispatch (`DispatchID.number`); nil for a change.
    public let id: UInt64?
    /// The number of the dispatch inside which it was made.
    public let parent: UInt64?
    /// Whether it has a parent, but no running block of a store has made it.
    ///
    /// A hook, an observer, a completion or an effect has made it; or it began after a delay, or as a step of a group.
    ///
    /// False for the actions of a sequence.
    public let isOutsideBlocks: Bool
    /// The actions as dispatched; empty for a change.
    public let actions: [Action]
    /// The mode, such as `serial`; empty for a change.
    public let mode: String
    /// The keys of its lanes, as texts, each cut with a hash at its end if it is long; empty without a lane.
    public let lanes: [String]
    /// The time of the dispatch, since the log's origin.
    public let began: Duration
    /// The time before its first store started.
    public let timeQueued: Duration
    /// The time from the start of its first store to its end.
    public let duration: Duration
    /// The call site of the dispatch; empty for a change.
    public let callSite: String
    /// The error of its result.
    public let error: String?
    /// The outcome that the error stands for; nil if there is no error, and in logs of earlier versions.
    package let outcome: StoreRun.Outcome?
    /// The runs of its stores.
    public let stores: [StoreRun]

    /// The keys of its lanes in one text; nil without a lane.
    public var lane: String? { lanes.isEmpty ? nil : lanes.joined(separator: ", ") }
  }

  /// An action, as text.
  public struct Action: Sendable, Equatable, Codable {
    /// The name of its type.
    public let type: String
    /// The action with its fields.
    public let text: String
    /// The encoded form, as `EncodedAction` has it; nil if the action is not encodable, or has masked fields.
    public let encoded: PlainValue?
  }

  /// The run of a store in a dispatch.
  public struct StoreRun: Sendable, Equatable {
    /// How a run has ended.
    public enum Outcome: String, Sendable, Codable {
      /// The run finished.
      case finished
      /// The run failed.
      case failed
      /// The run was cancelled.
      case cancelled
      /// A time limit passed before its end.
      case timedOut = "timed out"
      /// A middleware vetoed the action.
      case vetoed
    }

    /// The store's identifier.
    public let store: String
    /// How the run has ended.
    public let outcome: Outcome
    /// The error, or the reason of a veto.
    public let detail: String?
    /// The time from the begin of the dispatch to the store's start; for a retry, to the start of that attempt.
    ///
    /// If the store took no part, and a block of another store changed it, this and `duration` are the dispatch's.
    public let timeQueued: Duration
    /// The time from the store's start to its end.
    public let duration: Duration
    /// The store's version before its first commit in the dispatch; at its end if there was no commit.
    public let oldVersion: UInt64
    /// The store's version after its last commit in the dispatch; equal to the old one if there was no commit.
    public let newVersion: UInt64
    /// The differences of the model, at most 100.
    public let differences: [Difference]
    /// The number of differences, changed elements, commits or attempts that were left out.
    public let omittedCount: Int
    /// The action that the store got, if a middleware has replaced it.
    public let replacement: String?
    /// Whether the store got the action; false if it did not answer it, and a block of another store has changed it.
    package let tookPart: Bool
  }

  /// A place at which a commit has changed a model.
  public struct Difference: Sendable, Equatable, Codable {
    /// The key path, such as `orders["ann"].total`.
    public let path: String
    /// The old value; nil if there was none.
    public let old: String?
    /// The new value; nil if there is none.
    public let new: String?
  }
}

extension DispatchLog.Entry {
  /// The bytes of the texts that may be long or many: of its actions, errors and differences.
  var textSize: Int {
    func size(of text: String?) -> Int { text?.utf8.count ?? 0 }
    var sum = size(of: error)
    for action in actions { sum += size(of: action.text) }
    for run in stores {
      sum += size(of: run.detail) + size(of: run.replacement)
      for difference in run.differences {
        sum += size(of: difference.path) + size(of: difference.old) + size(of: difference.new)
      }
    }
    return sum
  }
}

extension DispatchLog {
  /// Returns the entries that match all of the given conditions.
  ///
  /// - Parameters:
  ///   - store: The identifier of a store that takes part.
  ///   - lane: The key of a lane that the dispatch had, as text; or all of them, as `Entry.lane` has them.
  ///   - action: The name of an action's type.
  ///   - time: The time of the dispatch, since the log's origin.
  public func filtered(
    store: String? = nil, lane: String? = nil, action: String? = nil,
    within time: Range<Duration>? = nil
  ) -> DispatchLog {
    var log = self
    let cutLane = lane?.cutAsKey
    log.entries = entries.filter { entry in
      let isInLane = lane == nil || lane == entry.lane || entry.lanes.contains { $0 == cutLane }
      return isInLane
        && (store == nil || entry.stores.contains { $0.store == store })
        && (action == nil || entry.actions.contains { $0.type == action })
        && time?.contains(entry.began) != false
    }
    return log
  }

  /// Returns a dispatch with all that was dispatched inside it, directly or not.
  public func tree(of id: UInt64) -> DispatchLog {
    var children: [UInt64: [Int]] = [:]
    for (index, entry) in entries.enumerated() {
      if let parent = entry.parent { children[parent, default: []].append(index) }
    }
    var (seen, open): (Set<UInt64>, [UInt64]) = ([id], [id])
    while let next = open.popLast() {
      for child in (children[next] ?? []).compactMap({ entries[$0].id })
      where seen.insert(child).inserted {
        open.append(child)
      }
    }
    var log = self
    log.entries = entries.filter { entry in
      [entry.id, entry.parent].contains { $0.map(seen.contains) == true }
    }
    return log
  }
}
