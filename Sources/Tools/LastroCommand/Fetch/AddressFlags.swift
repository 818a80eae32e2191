// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Lastro

/// The flags that add to a URL, or look its host up.
struct AddressFlags: ParsableArguments {
  @Option(
    name: .customLong("url-query"),
    help: "Text to add to the URL's query, encoded as by --data-urlencode; '+TEXT' is added as it is. Repeatable.")
  var query: [String] = []
  @Option(
    name: .customLong("netrc-file"), help: "File with user and password of hosts, in the format of ~/.netrc.")
  var netrcFile: String?
  @Flag(name: [.customShort("n"), .customLong("netrc")], help: "With --netrc-file: the default.")
  var netrc = false

  func validate() throws {
    if netrc, netrcFile == nil {
      throw ValidationError("-n reads no file by itself; write --netrc-file ~/.netrc.")
    }
  }

  /// Adds to the query, and sets the credentials of the host unless the command line has others.
  func apply(to specification: inout RequestSpecification) throws {
    for text in query {
      let added =
        text.hasPrefix("+")
        ? String(text.dropFirst()) : String(decoding: try BodyFlags.encoded(text), as: UTF8.self)
      specification.url = BodyFlags.adding(added, to: specification.url)
    }
    guard let netrcFile, specification.basic == nil, specification.digest == nil, specification.bearer == nil,
      !specification.decides(on: "Authorization")
    else { return }
    let text = try StandardInput.text(netrcFile, of: "--netrc-file")
    let host = NearHost.host(of: specification.url)
    if let entry = Netrc(text).entry(for: host) { specification.basic = "\(entry.login):\(entry.password)" }
  }
}
