// SPDX-License-Identifier: Apache-2.0

/// Items to append to a URL's query, in order. Names and values are percent-encoded when they are sent, and a name may
/// occur more than once.
///
/// ```swift
/// let page = try await stack.fetch(.get(url, query: ["q": text, "page": 2, "archived": nil], as: Page.self))
/// let some = try await stack.fetch(.get(url, query: QueryItems(ids.map { ("id", $0) }), as: [User].self))
/// ```
public struct QueryItems: Sendable, ExpressibleByDictionaryLiteral {
  package private(set) var items: [(name: String, value: String?)]

  /// Makes items from a literal. Numbers and Booleans are written as Swift describes them. `nil` is a name without a
  /// value.
  public init(dictionaryLiteral items: (String, (any LosslessStringConvertible)?)...) {
    self.items = items.map { ($0, $1?.description) }
  }

  /// Makes items from names and values. `nil` is a name without a value.
  public init(_ items: some Sequence<(String, String?)>) { self.items = items.map { ($0, $1) } }

  /// Makes items from names and values, in order.
  public init(_ items: some Sequence<(String, String)>) { self.items = items.map { ($0, $1) } }

  /// Makes items from a dictionary, in the order of their names, so that equal dictionaries make equal URLs.
  public init(_ items: [String: String]) {
    self.items = items.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }
}
