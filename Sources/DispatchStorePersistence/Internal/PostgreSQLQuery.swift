#if PostgreSQL
  import CPostgreSQL
  import Foundation

  /// The text of a statement with its parameters, to be sent.
  struct PostgreSQLQuery {
    let sql: String
    var parameters: [Parameter] = []
    /// Whether its results are sent as bytes, as they are in memory, and not as text.
    var hasBinaryResults = false

    /// The text or the bytes of a parameter; nil for null.
    struct Parameter {
      var type: Oid = 0
      var bytes: [UInt8]?
      var isBinary = false

      static func text(_ value: String) -> Parameter { Parameter(bytes: Array(value.utf8)) }
      static func integer(_ value: Int64) -> Parameter { text("\(value)") }
      /// At least one, since zero would stand for no limit.
      static func milliseconds(_ value: Duration) -> Parameter {
        text("\(max(Int(value / .milliseconds(1)), 1))")
      }
      static func seconds(_ value: Duration) -> Parameter { text("\(value / .seconds(1))") }
    }

    init(_ sql: String, _ parameters: Parameter..., hasBinaryResults: Bool = false) {
      (self.sql, self.parameters) = (sql, parameters)
      self.hasBinaryResults = hasBinaryResults
    }

    init(_ sql: String, _ parameters: [Parameter]) {
      (self.sql, self.parameters) = (sql, parameters)
    }

    /// Hands the statement to libpq, to be prepared under a name; returns false if the connection is lost.
    func prepare(as name: String, on connection: OpaquePointer) -> Bool {
      PQsendPrepare(connection, name, sql, Int32(parameters.count), parameters.map(\.type)) == 1
    }

    /// Hands the statement to libpq; returns false if the connection is lost.
    ///
    /// - Parameter name: The name under which it was prepared; nil sends its text.
    func send(to connection: OpaquePointer, preparedAs name: String? = nil) -> Bool {
      let buffers = parameters.map { parameter -> UnsafeMutableBufferPointer<CChar>? in
        guard let bytes = parameter.bytes else { return nil }
        // Text ends with a zero byte; the length says where bytes end.
        let buffer = UnsafeMutableBufferPointer<CChar>.allocate(capacity: bytes.count + 1)
        bytes.withUnsafeBytes { UnsafeMutableRawBufferPointer(buffer).copyMemory(from: $0) }
        buffer[bytes.count] = 0
        return buffer
      }
      defer { for buffer in buffers { buffer?.deallocate() } }
      let count = Int32(parameters.count)
      let values = buffers.map { $0.flatMap { UnsafePointer($0.baseAddress) } }
      let lengths = parameters.map { Int32($0.bytes?.count ?? 0) }
      let formats = parameters.map { Int32($0.isBinary ? 1 : 0) }
      let results: Int32 = hasBinaryResults ? 1 : 0
      if let name {
        return PQsendQueryPrepared(connection, name, count, values, lengths, formats, results) == 1
      }
      return PQsendQueryParams(
        connection, sql, count, parameters.map(\.type), values, lengths, formats, results) == 1
    }
  }

  /// An array parameter, in the server's binary form.
  struct PostgreSQLArray {
    /// The number of the type of an element, and of the array of such.
    enum Element: UInt32 {
      case bytes = 17
      case integer = 20
      case text = 25

      var arrayType: Oid {
        switch self {
        case .bytes: 1001
        case .integer: 1016
        case .text: 1009
        }
      }
    }

    private let element: Element
    private var body: [UInt8] = []
    private var count: UInt32 = 0

    init(of element: Element) { self.element = element }

    mutating func append(_ value: Int64) {
      appendLength(8)
      append(bigEndian: UInt64(bitPattern: value))
    }

    mutating func append(_ value: (some Collection<UInt8>)?) {
      appendLength(value.map { Int32($0.count) } ?? -1)
      if let value { body.append(contentsOf: value) }
    }

    private mutating func appendLength(_ length: Int32) {
      count += 1
      append(bigEndian: UInt32(bitPattern: length))
    }

    private mutating func append(bigEndian value: some FixedWidthInteger) {
      withUnsafeBytes(of: value.bigEndian) { body.append(contentsOf: $0) }
    }

    var parameter: PostgreSQLQuery.Parameter {
      var header = PostgreSQLArray(of: element)
      // The array has one dimension, perhaps nulls, and a first element with the number 1.
      for word in [1, 1, element.rawValue, count, 1] { header.append(bigEndian: word) }
      return .init(type: element.arrayType, bytes: header.body + body, isBinary: true)
    }
  }
#endif
