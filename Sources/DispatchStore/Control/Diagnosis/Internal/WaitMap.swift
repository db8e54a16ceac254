/// The dispatches in flight at an instant, as nodes, with their waits as links; without texts of entries.
struct WaitMap {
  /// A text that names other nodes, made once these have their numbers.
  typealias Line = (_ name: (Int) -> String) -> String

  struct Node {
    let identity: ObjectIdentifier
    let id: DispatchID?
    let parent: DispatchID?
    let callSite: CallSite
    /// The trace, if the dispatch is in the table.
    let trace: InFlightTrace?
    /// The start, by the dispatcher's clock, in nanoseconds; nil if it is not known.
    let began: Int64?
    let moved: Int64?
    /// The deadline, while it may change how the dispatch or the call ends.
    var deadline: Int64?
    var lines: [Line] = []
    var isWaiting = false
    /// Whether the node needs the queue or a thread of it, and nothing else that is known.
    var waitsForQueue = false
    /// Whether the node waits for nothing but time.
    var waitsForTime = false
    /// Whether the dispatch could not start even if it were next.
    var isHeldBack = false
    /// Whether a block is under way that is not known to wait.
    var runsBlock = false
  }

  struct Link {
    let from: Int
    let to: Int
    let kind: Diagnosis.Edge.Kind
    let label: String

    /// The identity by which a later map finds the link.
    struct Identity: Hashable {
      let from: ObjectIdentifier
      let to: ObjectIdentifier
      let kind: Diagnosis.Edge.Kind
    }
  }

  var nodes: [Node] = []
  private(set) var links: [Link] = []
  private var places: [ObjectIdentifier: Int] = [:]
  private var seen: Set<[Int]> = []

  /// The index of a node.
  func place(of identity: ObjectIdentifier) -> Int? { places[identity] }

  mutating func insert(_ node: Node) -> Int {
    if let present = places[node.identity] { return present }
    places[node.identity] = nodes.count
    nodes.append(node)
    return nodes.count - 1
  }

  mutating func add(_ line: @escaping Line, to place: Int) {
    nodes[place].lines.append(line)
  }

  mutating func add(_ text: String, to place: Int) { add({ _ in text }, to: place) }

  mutating func link(
    _ from: Int, to: Int, _ kind: Diagnosis.Edge.Kind, _ label: String
  ) {
    guard seen.insert([from, to, kind.rawValue]).inserted else { return }
    links.append(Link(from: from, to: to, kind: kind, label: label))
  }

  func identity(of link: Link) -> Link.Identity {
    Link.Identity(from: nodes[link.from].identity, to: nodes[link.to].identity, kind: link.kind)
  }

  /// The links of each ring: certain rings, and probable ones among nodes without a certain one.
  var rings: [[Int]] {
    let known = links.indices.filter { links[$0].kind != .mayWait }
    let certain = rings(of: known)
    let members = Set(certain.joined().map { links[$0].from })
    // Each set of nodes with a certain ring has that one already.
    let probable = rings(of: Array(links.indices)).filter { ring in
      ring.contains { links[$0].kind == .mayWait }
        && !ring.contains { members.contains(links[$0].from) }
    }
    return certain + probable
  }

  private func rings(of indices: [Int]) -> [[Int]] {
    WaitCycles(nodeCount: nodes.count, edges: indices.map { (links[$0].from, links[$0].to) }).rings
      .map { ring in ring.map { indices[$0] } }
  }
}
