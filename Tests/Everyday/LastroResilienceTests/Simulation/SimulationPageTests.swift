// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("Page of the simulations", .timeLimit(.minutes(30)))
struct SimulationPageTests {
  @Test("The page equals the simulations' results; LASTRO_RENEW=1 rewrites it")
  func page() async throws {
    let (page, plots) = try await SimulationPage.make()
    let file = SimulationPage.folder.appending(path: "Simulation.md")
    if ProcessInfo.processInfo.environment["LASTRO_RENEW"] == "1" {
      let folder = SimulationPage.folder.appending(path: "Simulation")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      for (name, svg) in plots { try Data(svg.utf8).write(to: folder.appending(path: "\(name).svg")) }
      try Data((page + (try fleet(file))).utf8).write(to: file)
      return
    }
    let kept = try String(contentsOf: file, encoding: .utf8).dropLast(try fleet(file).count)
    #expect(page.components(separatedBy: "\n") == kept.components(separatedBy: "\n"), "make simulation rewrites it")
  }

  /// Returns the section that the tests of `LastroFleet` make.
  private func fleet(_ file: URL) throws -> String {
    let kept = try String(contentsOf: file, encoding: .utf8)
    return kept.range(of: "\n## A fleet\n").map { String(kept[$0.lowerBound...]) } ?? ""
  }
}
