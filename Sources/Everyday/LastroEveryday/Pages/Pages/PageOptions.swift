// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// The limits of a sequence of pages.
///
/// ```swift
/// var options = PageOptions()
/// options.maximumPages = 50
/// options.total = .seconds(120)
/// ```
public struct PageOptions: Sendable {
  /// The maximum number of pages. Default 1000. If there are more, the sequence fails with `too_many_pages` after the
  /// last one allowed.
  public var maximumPages = 1000
  /// The time limit of the whole sequence, from the first page on, in addition to the timeouts of each page's call.
  /// Default `nil`: none.
  public var total: Duration?
  /// Origins besides that of the resource's own request to which links may lead. The requests carry the same fields as
  /// the first one, including credentials. Default: none. Links from an `https` resource never lead to `http`.
  public var origins: Set<Origin> = []
  /// Whether the next page is fetched while the caller processes a page. Default false.
  public var fetchesAhead = false
  /// The clock for ``total``. Default: the system's.
  public var timeSource: TimeSource = .continuous

  /// Creates the default options.
  public init() {}
}
