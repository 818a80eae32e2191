// SPDX-License-Identifier: Apache-2.0
// A typed GET of a pinned host, twice: over a new connection, and over the same one. The counters of the coverage are set
// to zero before each, so that neither counts the start of the program.

import Foundation
import Lastro
import LastroCurl

@_silgen_name("__llvm_profile_reset_counters") func resetCounters()
@_silgen_name("__llvm_profile_write_file") func writeProfile() -> Int32
@_silgen_name("__llvm_profile_set_filename") func setProfileName(_ name: UnsafePointer<CChar>)

struct Repository: Decodable, Sendable { let name: String; let forks: Int }
struct GitHubError: Error, Decodable, Sendable { let message: String }
enum GitHub: HTTPResourceEndpoint {
  case repository(owner: String, name: String)
  var path: String? {
    switch self {
    case .repository(let owner, let name): "repos/\(owner.pathSegment)/\(name.pathSegment)"
    }
  }
}
extension HTTPResource where Model == Repository, APIError == GitHubError {
  static func repository(_ owner: String, _ name: String) -> Self { .init(GitHub.repository(owner: owner, name: name)) }
}
// The base URL, the file of the root, the pin, and the beginning of the names of the profiles.
let arguments = CommandLine.arguments
var engine = CurlConfiguration()
engine.connection.tls.roots = .file(arguments[2])
engine.pins = [try PinningPolicy("localhost", pins: [arguments[3]], enforceBackupPin: false)]
var configuration = StackConfiguration()
configuration.baseURL = arguments[1]
let github = try CurlNetworkStack(engine, configuration: configuration)
for phase in ["cold", "warm"] {
  resetCounters()
  let swift = try await github.fetch(.repository("swiftlang", "swift"))
  let name = arguments[4] + "." + phase + ".profraw"
  name.withCString {
    setProfileName($0); _ = writeProfile()
  }
  print(phase, swift.value.name, swift.value.forks, swift.response.status.code)
}
try await Task.sleep(for: .milliseconds(50))
exit(0)
