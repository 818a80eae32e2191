// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroWire

/// How an API tells what comes behind a page.
///
/// ```swift
/// .link                                                        // GitHub, and all that follow RFC 8288
/// .cursor(\.nextPageToken, into: "pageToken")                  // Google
/// .cursor({ $0.hasMore ? $0.data.last?.id : nil }, into: "starting_after")  // Stripe
/// .offset(size: 100)
/// ```
public struct Pagination<Page: Sendable>: Sendable {
  /// What is changed of the first request.
  let first: NextPage?
  /// What comes behind a page, of which so many came before it.
  let next: @Sendable (_ page: Page, _ response: ResourceResponse, _ index: Int) throws -> NextPage?

  private init(
    first: NextPage? = nil,
    next: @escaping @Sendable (_ page: Page, _ response: ResourceResponse, _ index: Int) throws -> NextPage?
  ) {
    self.first = first
    self.next = next
  }

  /// The link of the answer's `Link` field whose relation is `next` (RFC 8288 §3): resolved against the URL that
  /// answered, redirects included. A link with an anchor that is not the page itself is not the page's.
  public static var link: Self { link(relation: "next") }

  /// The same with another relation, such as `prev`.
  ///
  /// - Parameter relation: compared without case.
  public static func link(relation: String) -> Self {
    let relation = relation.lowercased()
    return Self { _, response, _ in PageLink.target(of: relation, in: response).map { .url($0) } }
  }

  /// A cursor of the page that goes into a query item of the next request. `nil` and the empty text are the end.
  ///
  /// - Parameters:
  ///   - cursor: takes it from the page, such as `\.next`.
  ///   - item: name of the query item.
  public static func cursor(_ cursor: @escaping @Sendable (Page) -> String?, into item: String) -> Self {
    Self { page, _, _ in
      guard let cursor = cursor(page), !cursor.isEmpty else { return nil }
      return .query([item: cursor])
    }
  }

  /// A token in a header field of the answer, which goes into the field of the same name of the next request. None, or
  /// an empty one, is the end.
  public static func token(header: String) -> Self {
    Self { _, response, _ in
      let fields = RawHeaders(response.headerFields)
      guard let token = fields[RawHeaders.Name(header)], !token.isEmpty else { return nil }
      return .header(name: header, value: token)
    }
  }

  /// Counts elements: each page is asked for by the number of those before it. It ends at a page that is short.
  ///
  /// What is added or removed between two pages shifts the others, which no client can see.
  ///
  /// - Parameters:
  ///   - size: elements a page. At least 1, else the first page is the last.
  ///   - offset: name of the query item with the number of elements before the page. Default `offset`.
  ///   - limit: name of the query item with `size`. Default `limit`.
  ///   - count: how many elements a page has.
  public static func offset(
    size: Int, offset: String = "offset", limit: String = "limit", count: @escaping @Sendable (Page) -> Int
  ) -> Self {
    let step = { @Sendable (index: Int) -> NextPage? in
      let (start, isOver) = index.multipliedReportingOverflow(by: size)
      return isOver ? nil : .query([offset: "\(start)", limit: "\(size)"])
    }
    return Self(first: step(0)) { page, _, index in
      size > 0 && count(page) >= size ? step(index + 1) : nil
    }
  }

  /// Whatever a closure makes of a page.
  ///
  /// - Parameter next: gets the page, its answer, and the number of pages before it; `nil` is the end. What it throws
  ///   ends the sequence.
  public static func custom(
    _ next: @escaping @Sendable (_ page: Page, _ response: ResourceResponse, _ index: Int) throws -> NextPage?
  ) -> Self { Self(next: next) }
}

extension Pagination where Page: Collection {
  /// The same of pages that are collections.
  ///
  /// - Parameters:
  ///   - size: elements a page. At least 1, else the first page is the last.
  ///   - offset: name of the query item with the number of elements before the page. Default `offset`.
  ///   - limit: name of the query item with `size`. Default `limit`.
  public static func offset(size: Int, offset: String = "offset", limit: String = "limit") -> Self {
    self.offset(size: size, offset: offset, limit: limit) { $0.count }
  }
}
