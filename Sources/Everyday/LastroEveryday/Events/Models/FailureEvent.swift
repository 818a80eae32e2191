// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The events by which an API reports an error within a stream. A service that fails after it has sent the head can
/// no longer report the failure by a status.
public enum FailureEvent: Sendable, Hashable {
  /// No event.
  case none
  /// The events with this name, such as `error`.
  case event(String)
  /// The events whose data is a JSON object with this top-level key, such as `error`, unless its value is null.
  case key(String)

  func matches(_ event: ServerSentEvent) -> Bool {
    switch self {
    case .none: false
    case .event(let name): event.name == name
    case .key(let key):
      (try? JSONDecoder().decode(TopLevelKeys.self, from: Data(event.data.utf8)))?.names.contains(key) ?? false
    }
  }
}

/// The top-level keys of a JSON object whose values are not null. The values are not decoded.
private struct TopLevelKeys: Decodable {
  private struct Key: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }

    init?(intValue: Int) { nil }
  }

  var names: Set<String>

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    names = try Set(container.allKeys.filter { try !container.decodeNil(forKey: $0) }.map(\.stringValue))
  }
}
