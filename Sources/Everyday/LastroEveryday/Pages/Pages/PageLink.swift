// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroWire

/// Links between pages.
enum PageLink {
  /// Returns the target of the first link with a relation, as written.
  static func target(of relation: String, in response: ResourceResponse) -> String? {
    guard let name = HTTPField.Name("Link") else { return nil }
    return WebLink.links(in: response.headerFields[values: name]).first { link in
      guard link.relations.contains(relation) else { return false }
      guard let anchor = link.anchor else { return true }
      return resolved(anchor, against: response.url)?.urlWithoutFragment
        == resolved("", against: response.url)?.urlWithoutFragment
        && !anchor.contains("#")
    }?.target
  }

  /// Returns the absolute URL of a reference; `nil` if it is not a URL that can be requested.
  static func resolved(_ reference: String, against url: String) -> RedirectTarget? {
    guard let base = try? RequestTarget(url) else { return nil }
    return try? RedirectTarget(reference, base: base, fragment: nil)
  }
}
