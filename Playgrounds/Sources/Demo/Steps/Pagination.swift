// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro

extension Step {
  static let pagination = Step(
    title: "Pages, by following Link",
    explanation: "The server names the next page in a header field; a whole URL makes a resource as an endpoint does."
  ) { stage in
    let before = stage.server.requests.count
    var resource: HTTPResource<[Repository], ForgeError>? = .repositories(of: "apple", perPage: 3)
    var names: [String] = []
    var sizes: [Int] = []
    while let page = resource {
      let repositories = try await stage.stack.fetch(page)
      sizes.append(repositories.value.count)
      names += repositories.value.map(\.fullName)
      stage.asked(repositories.response.url.replacing(stage.server.baseURL, with: ""))
      stage.came("\(repositories.response.status): \(repositories.value.map(\.fullName).joined(separator: ", "))")
      resource = repositories.response.headerFields[.link].flatMap(nextPage).map { .page($0) }
    }
    try stage.check("seven repositories came, on pages of 3, 3 and 1", sizes == [3, 3, 1])
    try stage.check("none came twice", Set(names).count == 7 && names.allSatisfy { $0.hasPrefix("apple/") })
    try stage.check("the server got three requests", stage.requests(since: before).count == 3)
  }
}

extension HTTPField.Name {
  /// The field `Link` (RFC 8288).
  fileprivate static let link = HTTPField.Name("Link") ?? .location
}

/// Returns the target of `rel="next"` in a `Link` value; `nil` if there is none.
private func nextPage(_ link: String) -> String? {
  for item in link.split(separator: ",") where item.contains("rel=\"next\"") {
    guard let open = item.firstIndex(of: "<"), let close = item.firstIndex(of: ">"), open < close else { continue }
    return String(item[item.index(after: open)..<close])
  }
  return nil
}
