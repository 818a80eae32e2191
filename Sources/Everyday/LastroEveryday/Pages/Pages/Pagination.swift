// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroWire

/// The way in which an API names the next page.
///
/// ```swift
/// .link                                                        // GitHub, and all that follow RFC 8288
/// .cursor(\.nextPageToken, into: "pageToken")                  // Google
/// .cursor({ $0.hasMore ? $0.data.last?.id : nil }, into: "starting_after")  // Stripe
/// .offset(size: 100)
/// ```
public struct Pagination<Page: Sendable>: Sendable {
  /// The changes to the first request.
  var first: NextPage?
  /// Returns the page after a page, given the number of pages before it.
  let next: @Sendable (_ page: Page, _ response: ResourceResponse, _ index: Int) throws -> NextPage?

  /// The link in the response's `Link` field with the relation `next` (RFC 8288 §3), resolved against the URL that
  /// responded, after redirects. A link is ignored if its anchor is not the page itself.
  public static var link: Self { link(relation: "next") }

  /// Returns a pagination by links with another relation, such as `prev`.
  ///
  /// - Parameter relation: the relation, compared case-insensitively.
  public static func link(relation: String) -> Self {
    let relation = relation.lowercased()
    return Self { _, response, _ in PageLink.target(of: relation, in: response).map { .url($0) } }
  }

  /// Returns a pagination by a cursor in the page, which becomes a query item of the next request. `nil` or an empty
  /// cursor is the end.
  ///
  /// - Parameters:
  ///   - cursor: returns the cursor of a page, such as `\.next`.
  ///   - item: the name of the query item.
  public static func cursor(_ cursor: @escaping @Sendable (Page) -> String?, into item: String) -> Self {
    Self { page, _, _ in
      guard let cursor = cursor(page), !cursor.isEmpty else { return nil }
      return .query([item: cursor])
    }
  }

  /// Returns a pagination by a token in a header field of the response, which is sent in the same field of the next
  /// request. A missing or empty token is the end.
  public static func token(header: String) -> Self {
    Self { _, response, _ in
      let fields = RawHeaders(response.headerFields)
      guard let token = fields[RawHeaders.Name(header)], !token.isEmpty else { return nil }
      return .header(name: header, value: token)
    }
  }

  /// Returns a pagination by offset: each page is requested by the number of elements before it. A page with fewer than
  /// `size` elements is the last.
  ///
  /// Elements added or removed between two requests shift the others, which a client cannot detect.
  ///
  /// - Parameters:
  ///   - size: the number of elements per page. If it is below 1, the first page is the last.
  ///   - offset: the name of the query item with the number of elements before the page. Default `offset`.
  ///   - limit: the name of the query item with `size`. Default `limit`.
  ///   - count: returns the number of elements of a page.
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

  /// Returns a pagination by a closure.
  ///
  /// - Parameter next: gets the page, its response, and the number of pages before it; returns `nil` at the end. An
  ///   error that it throws ends the sequence.
  public static func custom(
    _ next: @escaping @Sendable (_ page: Page, _ response: ResourceResponse, _ index: Int) throws -> NextPage?
  ) -> Self { Self(next: next) }
}

extension Pagination where Page: Collection {
  /// Returns a pagination by offset, for pages that are collections.
  ///
  /// - Parameters:
  ///   - size: the number of elements per page. If it is below 1, the first page is the last.
  ///   - offset: the name of the query item with the number of elements before the page. Default `offset`.
  ///   - limit: the name of the query item with `size`. Default `limit`.
  public static func offset(size: Int, offset: String = "offset", limit: String = "limit") -> Self {
    self.offset(size: size, offset: offset, limit: limit) { $0.count }
  }
}
