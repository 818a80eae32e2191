// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// How far a sequence of pages may lead.
///
/// ```swift
/// var options = PageOptions()
/// options.maximumPages = 50
/// options.total = .seconds(120)
/// ```
public struct PageOptions: Sendable {
  /// Most pages. Default 1000. Where there are more, the sequence fails with `too_many_pages` behind the last one.
  public var maximumPages = 1000
  /// The time limit of the whole, from the first page asked for, beside the limits that each page's call has. Default
  /// `nil`: none.
  public var total: Duration?
  /// Origins to which links may lead beside that of the resource's own request, wherever the page came from. The
  /// requests carry what the first one carries, credentials included. Default: none. A resource with an `https` URL
  /// leads to no `http` one.
  public var origins: Set<Origin> = []
  /// Whether the next page is fetched while the caller works on one. Default false.
  public var fetchesAhead = false
  /// Measures ``total``. Default: the system's clock.
  public var timeSource: TimeSource = .continuous

  /// Makes the default options.
  public init() {}
}
