// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Which events of a stream of models are the API's errors: services that fail after the head of their answer can no
/// longer tell it by a status.
public enum FailureEvent: Sendable, Hashable {
  /// None is.
  case none
  /// Those of this name, such as `error`.
  case event(String)
  /// Those whose data is a JSON object with this key at its top, such as `error`, unless its value is null.
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

/// The keys at the top of a JSON object whose values are not null. What they are is not looked at.
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
