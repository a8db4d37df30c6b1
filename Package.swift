// swift-tools-version: 6.2
// Larder: a caching HTTP forward proxy that never downloads the same byte twice.
import PackageDescription

let strict: [SwiftSetting] = [
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
  // Whether accesses overlap is checked in every debug build, and so under both sanitizers; the checks are a tenth of
  // what a request costs.
  .unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release)),
  // The layers are inlined into each other: a quarter of all counting of references goes.
  .unsafeFlags(["-cross-module-optimization"], .when(configuration: .release)),
]

func layer(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

let package = Package(
  name: "larder",
  products: [.executable(name: "larder", targets: ["larder"])],
  targets: [
    // Top to bottom: a target imports only what stands below it.
    .executableTarget(
      name: "larder",
      dependencies: [
        "Admin", "Proxy", "Fill", "Upstream", "Store", "CachePolicy", "HTTPMessage", "Configuration",
        "Diagnostics", "EventLoop", "Threads",
      ],
      swiftSettings: strict,
      // Calls into Swift's library are direct then, and so is what belongs to a thread: a tenth of a request's user time.
      linkerSettings: [.unsafeFlags(["-static-stdlib"], .when(configuration: .release))]),
    layer(
      "Admin",
      ["Proxy", "Fill", "Upstream", "Store", "HTTPWire", "HTTPMessage", "Configuration", "Diagnostics", "EventLoop"]),
    layer(
      "Proxy",
      [
        "Fill", "Upstream", "Store", "CachePolicy", "ContentCoding", "Spans", "HTTPWire", "HTTPMessage",
        "Configuration", "Diagnostics", "EventLoop",
      ]),
    layer(
      "Fill",
      [
        "Upstream", "Store", "CachePolicy", "Digests", "Spans", "HTTPWire", "HTTPMessage", "Configuration",
        "Diagnostics", "EventLoop",
      ]),
    layer("Upstream", ["HTTPWire", "HTTPMessage", "Configuration", "Diagnostics", "EventLoop"]),
    layer("ContentCoding", ["CZlib"]),
    layer("Store", ["CachePolicy", "Spans", "HTTPMessage", "Diagnostics", "Threads", "CLMDB", "CXXHash"]),
    layer("CachePolicy", ["HTTPMessage", "CXXHash"]),
    layer("Digests", ["HTTPMessage", "CCrypto"]),
    layer("Spans", ["HTTPMessage"]),
    layer("HTTPWire", ["HTTPMessage"]),
    layer("HTTPMessage"),
    layer("Configuration", ["CYAML"]),
    layer("Diagnostics", ["Threads"]),
    layer("EventLoop", ["Threads", "CLibevent"]),
    layer("Threads", ["CThreads"]),
    .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CLibevent", pkgConfig: "libevent_core", providers: [.apt(["libevent-dev"])]),
    .systemLibrary(name: "CLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"])]),
    .systemLibrary(name: "CThreads"),
    .systemLibrary(name: "CXXHash", pkgConfig: "libxxhash", providers: [.apt(["libxxhash-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
    layer("TestSupport"),
    .executableTarget(
      name: "Benchmarks",
      dependencies: [
        "Store", "CachePolicy", "Spans", "HTTPWire", "HTTPMessage", "Diagnostics", "TestSupport",
      ],
      path: "Benchmarks/Sources", swiftSettings: strict),
    tests("HTTPMessageTests", ["HTTPMessage"]),
    tests("HTTPWireTests", ["HTTPWire", "HTTPMessage"]),
    tests("SpansTests", ["Spans", "HTTPMessage"]),
    tests("CachePolicyTests", ["CachePolicy", "HTTPMessage"]),
    tests("ConfigurationTests", ["Configuration"]),
    tests("ContentCodingTests", ["ContentCoding"]),
    tests("DigestsTests", ["Digests", "HTTPMessage"]),
    tests("EventLoopTests", ["EventLoop", "Threads"]),
    tests("FillTests", ["Fill", "Spans"]),
    tests("StoreTests", ["Store", "CachePolicy", "Spans", "HTTPMessage", "Threads", "TestSupport", "CLMDB"]),
    tests("ProgramTests", ["TestSupport"]),
  ],
  swiftLanguageModes: [.v6]
)

// The fuzzers need libFuzzer linked in, so they are no part of an ordinary build (`make fuzz`).
if Context.environment["LARDER_FUZZ"] != nil {
  package.targets.append(
    .executableTarget(
      name: "Fuzz",
      dependencies: ["Store", "CachePolicy", "Spans", "HTTPWire", "HTTPMessage", "Configuration"],
      path: "Tests/Fuzz/Sources", swiftSettings: strict,
      linkerSettings: [.unsafeFlags(["-sanitize=fuzzer,address", "-use-ld=lld"])]))
}
