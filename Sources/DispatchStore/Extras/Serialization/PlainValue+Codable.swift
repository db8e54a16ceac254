import Foundation

extension PlainValue: Codable {
  /// Encodes the value as its own type; data and dates in the encoder's own way.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .integer(let value): try container.encode(value)
    case .unsigned(let value): try container.encode(value)
    case .double(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .data(let value): try container.encode(value)
    case .date(let value): try container.encode(value)
    case .array(let values): try container.encode(values)
    case .object(let values): try container.encode(values)
    }
  }

  /// Decodes any value; data and dates are decoded as the type that the format encodes them as.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    func value<Value: Decodable>(_ type: Value.Type) -> Value? { try? container.decode(type) }
    if container.decodeNil() {
      self = .null
    } else if let value = value(Bool.self) {
      self = .bool(value)
    } else if let number = value(Int64.self) {
      // JSON has the number -0.0 as -0, which can be read as an integer, too.
      let isNegativeZero = number == 0 && value(Double.self)?.sign == .minus
      self = isNegativeZero ? .double(-0.0) : .integer(number)
    } else if let value = value(UInt64.self) {
      self = .unsigned(value)
    } else if let value = value(Double.self) {
      self = .double(value)
    } else if let value = value(String.self) {
      self = .string(value)
    } else if let values = value([PlainValue].self) {
      self = .array(values)
    } else {
      do {
        self = .object(try container.decode([String: PlainValue].self))
      } catch {
        // Last: JSON would read any number as a date, and other formats an array of small numbers as data.
        if let value = value(Date.self) {
          self = .date(value)
        } else if let value = value(Data.self) {
          self = .data(value)
        } else {
          throw error
        }
      }
    }
  }
}
